import multiprocessing
import os
import sys


def work(n):
    found = [name for name in sys.modules if "tidy" in name and not name.startswith("tidy")]
    traced = sys.gettrace() is not None or sys.getprofile() is not None
    names = [name for name in os.environ if "TIDY" in name or name == "PYTHONPATH"]
    return n * n, found, traced, len(names)


if __name__ == "__main__":
    from training import steps

    steps(3)
    for method in ("spawn", "forkserver"):
        context = multiprocessing.get_context(method)
        with context.Pool(1) as pool:
            print(method, pool.map(work, range(2)))
        steps(3)
    queue = multiprocessing.get_context("spawn").Queue()
    process = multiprocessing.get_context("spawn").Process(target=queue.put, args=("sent",))
    process.start()
    print(queue.get())
    process.join()
    print(process.exitcode)

import multiprocessing as mp
import os


def work(x):
    return x * x, "_tidy_child" in os.environ, sorted(n for n in os.environ if "TIDY" in n)


if __name__ == "__main__":
    from training import steps

    steps(2)
    for how in ("fork", "spawn"):
        with mp.get_context(how).Pool(1) as pool:
            print(pool.map(work, [1, 2]))
        steps(5)

import asyncio
import os
import signal

from training import steps


async def main():
    loop, came = asyncio.get_running_loop(), []
    loop.add_signal_handler(signal.SIGUSR1, came.append, "signal")
    for _ in range(6):
        os.kill(os.getpid(), signal.SIGUSR1)
        await asyncio.gather(asyncio.to_thread(sum, [1]), asyncio.sleep(0.01))
        steps(2)
    await asyncio.sleep(0.1)
    print(came)

    async def failing():
        steps(1)
        raise ValueError("in a task")

    await failing()


asyncio.run(main())

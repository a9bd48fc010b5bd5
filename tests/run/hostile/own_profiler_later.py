import sys

from training import steps

seen = []


def profile(frame, event, argument):
    if frame.f_code.co_filename == __file__ and event in ("call", "return"):
        seen.append((event, frame.f_code.co_name))


def work(n):
    return steps(n)


work(2)
sys.setprofile(profile)
work(2)
work(12)
print(sys.getprofile() is profile)
sys.setprofile(None)
print(seen)

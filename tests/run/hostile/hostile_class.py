from training import net, steps, torch


class Hostile:
    @property
    def __class__(self):
        raise ValueError("no class")


hostile = Hostile()
try:
    net(hostile)
except Exception as error:
    print(type(error).__name__)


class Number(float):
    def __repr__(self):
        raise ValueError("no repr")

    def __str__(self):
        raise ValueError("no text")

    def __format__(self, form):
        raise ValueError("no format")


for _ in range(3):
    print((torch.ones(3) * Number(2.0)).sum().item())
    steps(3)
print("trained")

import json

from training import steps


def dumps(*args, **kwargs):
    raise ValueError("patched")


json.dump = json.dumps = json.JSONEncoder.encode = json.JSONEncoder.iterencode = dumps
steps(12)
print("trained")

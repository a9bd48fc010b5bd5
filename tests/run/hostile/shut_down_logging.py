import logging
import sys

from training import steps


class Handler(logging.Handler):
    def emit(self, record):
        print(record.levelname, record.getMessage(), record.filename, record.lineno)


logging.basicConfig(level=1, handlers=[Handler()])
logging.captureWarnings(True)
steps(6)
logging.warning("one")
logging.shutdown()
steps(6)
logging.disable(logging.CRITICAL)
logging.error("never")
print(logging.root.handlers[0].__class__.__name__, len(logging.root.manager.loggerDict) < 1000)
logging.raiseExceptions = False
sys.exit(logging.getLevelName(40))

"""torch.utils.data's names."""

from .. import data

globals().update({name: found for name, found in vars(data).items() if not name.startswith("_")})

"""The laboratory: parameters -> tables -> numbers -> pages. It uses the library `learned_schedulers`."""

import learned_schedulers as _  # noqa: F401 - first: it says which processors code is compiled for

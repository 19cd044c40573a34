"""Instances of others -> projects: PSPLIB's files and the standard text of job-shops, with the best values known."""

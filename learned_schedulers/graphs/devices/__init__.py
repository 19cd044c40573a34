"""Devices and links: run time and memory of a schedule on them, and the targets that schedules are judged on."""

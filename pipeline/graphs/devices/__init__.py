"""Devices and links, how long a schedule takes on them and how much memory it needs; targets."""

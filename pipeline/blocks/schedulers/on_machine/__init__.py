"""What schedulers on the in-order model (latency/in_order.py) share; no schedulers themselves."""

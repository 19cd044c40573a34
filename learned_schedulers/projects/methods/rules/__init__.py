"""Priority rules, and the two schemes that turn priorities into schedules."""

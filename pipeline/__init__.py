"""From compiled programs to learned schedules, and from schedules to evidence."""

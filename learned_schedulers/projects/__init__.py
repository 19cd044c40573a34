"""The wing of projects and job-shops of others: activities that need resources become schedules."""

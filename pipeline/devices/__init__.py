"""Which method schedules computation graphs on several devices best?"""

"""Do schedules of computation graphs, executed on two cores of this machine, take the time that the simulator says?"""

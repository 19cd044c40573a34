"""Which scheduler needs the fewest cycles by a model of a processor?"""

"""Does a network learn better with the projection onto the dependencies, and what does each method cost?"""

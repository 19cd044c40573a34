"""What are orders of a user's own code worth, and is it still right?"""

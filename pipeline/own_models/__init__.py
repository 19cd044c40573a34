"""Is every model of a user read, priced as a calculator prices it, and run right by its split?"""

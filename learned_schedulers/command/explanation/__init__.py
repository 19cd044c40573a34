"""The page of the verb `explain`: blocks of a user's file before and after, drawn in the model of a processor."""

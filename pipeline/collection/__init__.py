"""What are many environments at once and fused steps worth for the collection of data?"""

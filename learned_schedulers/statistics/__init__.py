"""Intervals of means by resampling: of members, of clusters of members that resemble each other, and of seeds."""

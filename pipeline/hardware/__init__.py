"""Do orders that models of processors call fast run fast on this processor?"""

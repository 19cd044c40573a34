"""Does a GFlowNet find better schedules than simple methods with the same budget?"""

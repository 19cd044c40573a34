"""How far are our methods from the best makespans known of instances of others?"""

"""Does one network that places and orders whole graphs beat experts, peers and random moves?"""

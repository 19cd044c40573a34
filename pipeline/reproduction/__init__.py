"""Do the tables of POCSNet's paper hold on real machine code?"""

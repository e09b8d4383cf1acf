"""Budgeted context: which code goes into a prompt, in which form and order, and why."""

"""The parts of scripts/abuse, which measures how much abusive clients delay a well-behaved client, the bystander."""

"""What each section of the page says, from results and records."""

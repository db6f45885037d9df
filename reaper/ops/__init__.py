"""What operators see and do; commands and page show it."""

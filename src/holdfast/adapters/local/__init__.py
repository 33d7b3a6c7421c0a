"""What jobs name and what lies on this machine: data, models, adapters."""

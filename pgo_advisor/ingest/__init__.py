"""From paths to tables: `job.ingest`. The processes that read one log each do without pandas."""

"""What all experiments use: sessions, witnesses, servers, child processes, results, judgements."""

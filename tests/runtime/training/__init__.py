"""Trainings that both runtimes run."""

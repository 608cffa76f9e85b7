"""The command line: the one place where models, attacks and reports meet.

- `app`: `main`, its commands, and how failures reach the user; `commands/`: one file a command.
- `options/`: options and their help; `request/`: from these to models, data sets and conditions.
- `analyze/`: what analyze is made of; `measuring`: what plan measures on a few images.
- `run`: an evaluation with progress (`progress`) that signals (`signals`) end in time.
- `results`: results as commands show and save them; `tables`, `report_files`: what report makes.
- `run_folders`: folders that are read or written; `terminal`: console and standard streams.
- `api`: `evaluate`, the function that scripts call; `api_models`, `api_inputs`: its model
  and data; `api_conditions`, `api_functions`: its conditions; `api_messages`: its mistakes.
"""

#!/bin/bash
#SBATCH --job-name=straggler
#SBATCH --ntasks=2
#SBATCH --time=00:10:00
#SBATCH --signal=USR1@60
# Each task writes straggler.rankN.json, also one that meets the time limit (SIGUSR1, SIGTERM).
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export MASTER_PORT=29500 WORLD_SIZE=$SLURM_NTASKS
srun bash -c 'RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID \
    asyncguard run -q --save-every 30 -o straggler.json examples/ranks_straggler.py'
asyncguard report straggler.rank*.json

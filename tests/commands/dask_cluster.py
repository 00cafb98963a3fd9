"""A Dask cluster on the loopback, for as long as standard input is open; prints its address."""

import sys

if __name__ == "__main__":
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=2, host="127.0.0.1", dashboard_address=None) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()

# Sourced: settings with which OpenMPI and MPICH start more ranks than cores, also as root and in a container.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none # containers often forbid process_vm_readv
export OMPI_MCA_btl=self,vader                       # one host: shared memory alone, no look at the network

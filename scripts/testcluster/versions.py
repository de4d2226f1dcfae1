"""What is built for the cluster, and in which version."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Build:
    """One Go module and the programs that are built from it.

    Attributes
    ----------
    name : str
        Name of the build; with the version also the name of its folder in the cache.
    module : str
        Go module path.
    version : str
        Its version, with the leading "v".
    programs : dict of str to str
        Program name to the Go package that is its main package.
    sibling_version : str
        Version of the modules that the source replaces by folders of its own repository.
    ldflags : str
        Flags for the linker.
    minutes : int
        About how long it takes with nothing cached, on two cores.
    """

    name: str
    module: str
    version: str
    programs: dict[str, str]
    sibling_version: str = ""
    ldflags: str = "-s -w"
    minutes: int = 5

    @property
    def folder(self) -> str:
        """Return the name of the folder that holds the programs."""
        return f"{self.name}-{self.version}"


def _commands(module: str, *names: str) -> dict[str, str]:
    return {name: f"{module}/cmd/{name}" for name in names}


# 1.34 is the newest whose kubelet runs on cgroup v1 unless it is forbidden.
KUBERNETES = Build(
    "kubernetes",
    "k8s.io/kubernetes",
    "v1.34.4",
    _commands(
        "k8s.io/kubernetes",
        "kube-apiserver",
        "kube-controller-manager",
        "kube-scheduler",
        "kubelet",
        "kubectl",
    ),
    sibling_version="v0.34.4",
    ldflags="-s -w -X k8s.io/component-base/version.gitVersion=v1.34.4",
    minutes=6,
)
# Older ones, such as Debian's 3.4, do not know RequestWatchProgress: no streaming lists.
ETCD = Build(
    "etcd",
    "go.etcd.io/etcd/server/v3",
    "v3.6.13",
    {"etcd": "go.etcd.io/etcd/server/v3"},
    sibling_version="v3.6.13",
    minutes=2,
)
KWOK = Build(
    "kwok",
    "sigs.k8s.io/kwok",
    "v0.7.0",
    _commands("sigs.k8s.io/kwok", "kwok"),
    minutes=4,
)
MPI_OPERATOR = Build(
    "mpi-operator",
    "github.com/kubeflow/mpi-operator",
    "v0.8.2",
    _commands("github.com/kubeflow/mpi-operator", "mpi-operator"),
    minutes=5,
)
BUILDS = {build.name: build for build in (KUBERNETES, ETCD, KWOK, MPI_OPERATOR)}


@dataclass(frozen=True)
class Recipe:
    """What goes into a container image.

    Attributes
    ----------
    name : str
        Image name without its tag.
    version : str
        Its tag; to be raised with every change of the recipe or of how it is built.
    packages : tuple of str
        Debian packages beyond the smallest system.
    suite : str
        Debian release.
    user : str
        Name of the user with uid and gid 1000: sshd refuses a uid without a name.
    """

    name: str
    version: str
    packages: tuple[str, ...]
    suite: str = "bookworm"
    user: str = "jovyan"
    extra_folders: tuple[str, ...] = field(default=("run/sshd",))

    @property
    def reference(self) -> str:
        """Return the name that a pod's container asks for."""
        return f"{self.name}:{self.version}"


BASE_IMAGE = Recipe(
    "test.jupyter-elastic.invalid/base",
    "1",
    # The whole Python, because frameworks that are mounted need all of its standard library.
    ("openssh-server", "openssh-client", "python3", "procps", "iproute2"),
)

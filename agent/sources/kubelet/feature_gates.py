"""Which feature gates which kubelet knows: it refuses to start over one that it does not.

OpenShift writes the gates of the whole cluster into every kubelet's configuration, many of which are its own.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

from agent.sources.kubelet import feature_gate_data
from agent.sources.kubelet.node import NEWEST, OLDEST

_ALWAYS = ("AllAlpha", "AllBeta")

# Name, first and last release of Kubernetes 1 that knows it (16 is that or an earlier one, NEWEST is still
# so), and from which release on it can only have the one value. feature_gate_data.py has those that
# Kubernetes lists; these were gone before it did so.
_UNLISTED = """
APIPriorityAndFairness 17 30 29 true
APISelfSubjectReview 26 29 28 true
AdvancedAuditing 16 27 27 true
AllowInsecureBackendProxy 17 22 21 true
AttachVolumeLimit 16 20 17 true
BalanceAttachedNodeVolumes 16 21
BlockVolume 16 20 18 true
BoundServiceAccountTokenVolume 16 22 22 true
CRIContainerLogRotation 16 21 21 true
CSIBlockVolume 16 20 18 true
CSIDriverRegistry 16 20 18 true
CSIInlineVolume 16 26 25 true
CSIMigration 16 26 25 true
CSIMigrationAWS 16 26 25 true
CSIMigrationAWSComplete 17 20
CSIMigrationAzureDisk 16 26 25 true
CSIMigrationAzureDiskComplete 17 20
CSIMigrationAzureFile 16 29 27 true
CSIMigrationAzureFileComplete 17 20
CSIMigrationGCE 16 27 25 true
CSIMigrationGCEComplete 17 20
CSIMigrationOpenStack 16 25 24 true
CSIMigrationOpenStackComplete 17 20
CSIMigrationRBD 24 30
CSIMigrationvSphere 19 28 26 true
CSIMigrationvSphereComplete 19 21
CSINodeExpandSecret 25 30 29 true
CSINodeInfo 16 20 17 true
CSIServiceAccountToken 20 24 22 true
CSIStorageCapacity 19 27 24 true
CSIVolumeFSGroupPolicy 19 24 23 true
CSRDuration 22 25 24 true
CloudDualStackNodeIPs 27 31 30 true
ConfigurableFSGroupPolicy 18 24 23 true
ConsistentHTTPGetHandlers 26 30 30 true
ControllerManagerLeaderMigration 21 26 24 true
CronJobControllerV2 20 22 22 true
CronJobTimeZone 24 28 27 true
CustomResourceDefaulting 16 17 17 true
CustomResourcePublishOpenAPI 16 17 16 true
CustomResourceSubresources 16 17 16 true
CustomResourceValidation 16 17 16 true
CustomResourceValidationExpressions 23 30 29 true
CustomResourceWebhookConversion 16 17 16 true
DRAControlPlaneController 31 31
DaemonSetUpdateSurge 21 26 25 true
DefaultHostNetworkHostPortsInPodTemplates 28 30
DefaultIngressClass 18 19 19 true
DefaultPodTopologySpread 19 25 24 true
DelegateFSGroupToCSIDriver 22 27 26 true
DevicePlugins 16 27 26 true
DisableAcceleratorUsageMetrics 19 27 25 true
DownwardAPIHugePages 20 28 27 true
DryRun 16 27 26 true
DynamicAuditing 16 18
DynamicKubeletConfig 16 25
EnableAggregatedDiscoveryTimeout 16 16
EndpointSlice 16 24 21 true
EndpointSliceNodeName 20 24 21 true
EndpointSliceProxying 18 24 22 true
EndpointSliceTerminatingCondition 20 27 26 true
EphemeralContainers 16 26 25 true
EvenPodsSpread 16 20 19 true
ExpandCSIVolumes 16 26
ExpandInUsePersistentVolumes 16 26
ExpandPersistentVolumes 16 26
ExpandedDNSConfig 22 29 28 true
ExperimentalHostUserNamespaceDefaulting 16 29 28 false
ExternalPolicyForExternalIP 18 21 20 true
GCERegionalPersistentDisk 16 16 16 true
GRPCContainerProbe 23 28 27 true
GenericEphemeralVolume 19 24 23 true
HPAContainerMetrics 20 31 30 true
HugePageStorageMediumSize 18 23 22 true
HyperVContainer 16 20
IPTablesOwnershipCleanup 25 29 28 true
IPv6DualStack 16 26 23 true
IdentifyPodOS 23 26 25 true
ImmutableEphemeralVolumes 18 23 21 true
InTreePluginAWSUnregister 21 30
InTreePluginAzureDiskUnregister 21 30
InTreePluginAzureFileUnregister 21 30
InTreePluginGCEUnregister 21 30
InTreePluginOpenStackUnregister 21 30
InTreePluginRBDUnregister 23 30
InTreePluginvSphereUnregister 21 30
IndexedJob 21 25 24 true
IngressClassNamespacedParams 21 24 23 true
JobMutableNodeSchedulingDirectives 23 28 27 true
JobReadyPods 23 30 29 true
JobTrackingWithFinalizers 22 28 26 true
KMSv2 25 31 29 true
KMSv2KDF 28 31 29 true
KubeletCredentialProviders 20 27 26 true
KubeletPodResources 16 29 28 true
KubeletPodResourcesGetAllocatable 21 29 28 true
LegacyNodeRoleBehavior 16 21 21 false
LegacyServiceAccountTokenCleanUp 28 31 30 true
LegacyServiceAccountTokenNoAutoGeneration 24 28 27 true
LegacyServiceAccountTokenTracking 26 29 28 true
LocalStorageCapacityIsolation 16 26 25 true
MinDomainsInPodTopologySpread 24 31 30 true
MinimizeIPTablesRestore 26 29 28 true
MixedProtocolLBService 20 27 26 true
MountContainers 16 16
MultiCIDRRangeAllocator 25 28
NamespaceDefaultLabelName 21 23 22 true
NetworkPolicyEndPort 21 26 25 true
NetworkPolicyStatus 24 27
NewVolumeManagerReconstruction 27 31 30 true
NodeDisruptionExclusion 16 21 21 true
NodeLease 16 22 17 true
NodeOutOfServiceVolumeDetach 24 31 28 true
NonPreemptingPriority 16 25 24 true
OpenAPIV3 23 28 27 true
PersistentLocalVolumes 16 16 16 true
PodAffinityNamespaceSelector 21 25 24 true
PodDisruptionBudget 17 24 21 true
PodHasNetworkCondition 25 27
PodHostIPs 28 31 30 true
PodOverhead 16 25 24 true
PodPriority 16 17 16 true
PodSecurity 22 27 25 true
PodShareProcessNamespace 16 18 17 true
PreferNominatedNode 21 25 24 true
ProbeTerminationGracePeriod 21 28 28 true
ProxyTerminatingEndpoints 22 29 28 true
ReadWriteOncePod 22 30 29 true
RemoveSelfLink 16 29 24 true
RequestManagement 16 16
ResourceLimitsPriorityFunction 16 18
ResourceQuotaScopeSelectors 16 17 17 true
RetroactiveDefaultStorageClass 25 28 28 true
RootCAConfigMap 20 21 21 true
RotateKubeletClientCertificate 16 20 19 true
RunAsGroup 16 21 21 true
RuntimeClass 16 23 20 true
SCTPSupport 16 21 20 true
ScheduleDaemonSetPods 16 17 17 true
SeccompDefault 22 28 27 true
SecurityContextDeny 27 29
SelectorIndex 18 24 20 true
ServerSideApply 16 31 26 true
ServerSideFieldValidation 23 31 27 true
ServiceAccountIssuerDiscovery 18 22 21 true
ServiceAppProtocol 18 21 20 true
ServiceIPStaticSubrange 24 27 26 true
ServiceInternalTrafficPolicy 21 27 26 true
ServiceLBNodePortControl 20 25 24 true
ServiceLoadBalancerClass 21 25 24 true
ServiceLoadBalancerFinalizer 16 19 17 true
ServiceNodeExclusion 16 21 21 true
ServiceNodePortStaticSubrange 27 30 29 true
ServiceTopology 17 21
SetHostnameAsFQDN 19 23 22 true
SkipReadOnlyValidationGCE 28 30
StableLoadBalancerNodeSet 27 31 30 true
StartupProbe 16 22 20 true
StatefulSetMinReadySeconds 22 26 25 true
StorageObjectInUseProtection 16 24 23 true
StreamingProxyRedirects 16 23
SupportIPVSProxyMode 16 19
SupportNodePidsLimit 16 22 20 true
SupportPodPidsLimit 16 22 20 true
SuspendJob 21 25 24 true
Sysctls 16 22 21 true
TTLAfterFinished 16 24 23 true
TaintBasedEvictions 16 19 18 true
TaintNodesByCondition 16 17 17 true
TokenRequest 16 20 20 true
TokenRequestProjection 16 20 20 true
TopologyManager 16 28 27 true
UserNamespacesStatelessPodsSupport 25 27
ValidateProxyRedirects 16 23
ValidatingAdmissionPolicy 26 31 30 true
VolumePVCDataSource 16 20 18 true
VolumeSnapshotDataSource 16 21 20 true
VolumeSubpath 16 24 23 true
VolumeSubpathEnvExpansion 16 18 17 true
WarningHeaders 19 23 22 true
WindowsEndpointSliceProxying 19 24 22 true
WindowsGMSA 16 20 18 true
WindowsHostProcessContainers 22 27 26 true
WindowsRunAsUserName 16 20 18 true
ZeroLimitedNominalConcurrencyShares 29 31 30 true
csiMigrationRBD 23 23
"""
# Of client-go, which no list has, though every kubelet knows them.
_OF_THE_CLIENT = """
AtomicFIFO 36 36
ClientsAllowCARotation 36 36
ClientsAllowCBOR 32 36
ClientsAllowTLSCacheGC 36 36
ClientsPreferCBOR 32 36
InOrderInformers 33 36 36 true
InOrderInformersBatchProcess 35 36
InformerResourceVersion 30 36
UnlockWhileProcessingFIFO 36 36
WatchListClient 30 36
"""


@dataclass(frozen=True, slots=True)
class Gate:
    first: int
    last: int
    locked_from: int | None = None
    locked_to: bool = True


def refusal(name: str, value: bool, minor: int) -> str | None:
    """Why a kubelet of release 1.`minor` would not start with this gate; None if it would."""
    if name in _ALWAYS:
        return None
    gate = _gates().get(name)
    if gate is None:
        return "no kubelet knows this gate, and it would not start over it"
    if minor > gate.last and gate.last < NEWEST:
        return f"gone since Kubernetes 1.{gate.last + 1}, whose kubelet would not start over it"
    if minor < gate.first and gate.first > OLDEST:
        return f"known since Kubernetes 1.{gate.first} only; an older kubelet would not start over it"
    if gate.locked_from is not None and minor >= gate.locked_from and value is not gate.locked_to:
        return f"can only be {str(gate.locked_to).lower()} since Kubernetes 1.{gate.locked_from}"
    return None


@functools.cache
def _gates() -> dict[str, Gate]:
    rows = filter(None, f"{_UNLISTED}{_OF_THE_CLIENT}{feature_gate_data.ROWS}".splitlines())
    return {name: _gate(rest) for name, *rest in map(str.split, rows)}


def _gate(columns: list[str]) -> Gate:
    first, last, *lock = columns
    if not lock:
        return Gate(int(first), int(last))
    return Gate(int(first), int(last), int(lock[0]), lock[1] == "true")

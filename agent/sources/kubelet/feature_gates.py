"""Which feature gates which kubelet knows: it refuses to start over one that it does not.

OpenShift writes the gates of the whole cluster into every kubelet's configuration, many of which are its own.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

from agent.sources.kubelet.node import NEWEST, OLDEST

_ALWAYS = ("AllAlpha", "AllBeta")

# Name, first and last release of Kubernetes 1 that knows it (16 is that or an earlier one, 36 is still
# so), and from which release on it can only have the one value.
_TABLE = """
APIListChunking 16 32 29 true
APIPriorityAndFairness 17 30 29 true
APIResponseCompression 16 36
APISelfSubjectReview 26 29 28 true
APIServerIdentity 20 36
APIServerTracing 22 36 34 true
APIServingWithRoutine 30 36
AdmissionWebhookMatchConditions 27 32 30 true
AdvancedAuditing 16 27 27 true
AggregatedDiscoveryEndpoint 26 32 30 true
AggregatedDiscoveryRemoveBetaType 33 36 35 true
AllowDNSOnlyNodeCSR 31 36
AllowInsecureBackendProxy 17 22 21 true
AllowInsecureKubeletCertificateSigningRequests 31 36
AllowOverwriteTerminationGracePeriodSeconds 32 36 35 false
AllowParsingUserUIDFromCertAuth 33 36
AllowServiceExternalIPs 36 36
AllowServiceLBStatusOnNonLB 29 34 32 false
AllowUnsafeMalformedObjectDeletion 32 36
AnonymousAuthConfigurableEndpoints 31 36 34 true
AnyVolumeDataSource 18 36 33 true
AppArmor 16 32 31 true
AppArmorFields 30 32 31 true
AtomicFIFO 36 36
AttachVolumeLimit 16 20 17 true
AuthorizeNodeWithSelectors 31 36 34 true
AuthorizePodWebsocketUpgradeCreatePermission 35 36
AuthorizeWithSelectors 31 36 34 true
BalanceAttachedNodeVolumes 16 21
BlockVolume 16 20 18 true
BoundServiceAccountTokenVolume 16 22 22 true
BtreeWatchCache 32 36 33 true
CBORServingAndStorage 32 36
CPUManager 16 32 26 true
CPUManagerPolicyAlphaOptions 23 36
CPUManagerPolicyBetaOptions 23 36
CPUManagerPolicyOptions 22 36 33 true
CRDObservedGenerationTracking 35 36
CRDValidationRatcheting 28 36
CRIContainerLogRotation 16 21 21 true
CRIListStreaming 36 36
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
CSIMigrationPortworx 23 35 33 true
CSIMigrationRBD 24 30
CSIMigrationvSphere 19 28 26 true
CSIMigrationvSphereComplete 19 21
CSINodeExpandSecret 25 30 29 true
CSINodeInfo 16 20 17 true
CSIServiceAccountToken 20 24 22 true
CSIServiceAccountTokenSecrets 35 36 36 true
CSIStorageCapacity 19 27 24 true
CSIVolumeFSGroupPolicy 19 24 23 true
CSIVolumeHealth 21 36
CSRDuration 22 25 24 true
ChangeContainerStatusOnKubeletRestart 35 36
ClearingNominatedNodeNameAfterBinding 34 36
ClientsAllowCARotation 36 36
ClientsAllowCBOR 32 36
ClientsAllowTLSCacheGC 36 36
ClientsPreferCBOR 32 36
CloudControllerManagerWatchBasedRoutesReconciliation 35 36
CloudControllerManagerWebhook 27 36
CloudDualStackNodeIPs 27 31 30 true
ClusterTrustBundle 27 36
ClusterTrustBundleProjection 29 36
ComponentFlagz 32 36
ComponentSLIs 26 34
ComponentStatusz 32 36
ConcurrentWatchObjectDecode 31 36
ConfigurableFSGroupPolicy 18 24 23 true
ConsistentHTTPGetHandlers 26 30 30 true
ConsistentListFromCache 28 36 34 true
ConstrainedImpersonation 35 36
ContainerCheckpoint 25 36
ContainerRestartRules 34 36
ContainerStopSignals 33 36
ContextualLogging 24 36
ControllerManagerLeaderMigration 21 26 24 true
ControllerManagerReleaseLeaderElectionLockOnExit 36 36
CoordinatedLeaderElection 31 36
CronJobControllerV2 20 22 22 true
CronJobTimeZone 24 28 27 true
CronJobsScheduledAnnotation 28 34 32 true
CrossNamespaceVolumeDataSource 26 36
CustomCPUCFSQuotaPeriod 16 36
CustomResourceDefaulting 16 17 17 true
CustomResourceFieldSelectors 30 36
CustomResourcePublishOpenAPI 16 17 16 true
CustomResourceSubresources 16 17 16 true
CustomResourceValidation 16 17 16 true
CustomResourceValidationExpressions 23 30 29 true
CustomResourceWebhookConversion 16 17 16 true
DRAAdminAccess 32 36 36 true
DRAConsumableCapacity 34 36
DRAControlPlaneController 31 31
DRADeviceBindingConditions 34 36
DRADeviceTaintRules 35 36
DRADeviceTaints 33 36
DRAExtendedResource 34 36
DRAListTypeAttributes 36 36
DRANodeAllocatableResources 36 36
DRAPartitionableDevices 33 36
DRAPrioritizedList 33 36
DRAResourceClaimDeviceStatus 32 36
DRAResourceClaimGranularStatusAuthorization 36 36
DRAResourcePoolStatus 36 36
DRASchedulerFilterTimeout 34 36
DRAWorkloadResourceClaims 36 36
DaemonSetUpdateSurge 21 26 25 true
DeclarativeValidation 33 36 36 true
DeclarativeValidationBeta 36 36
DeclarativeValidationTakeover 33 36
DefaultHostNetworkHostPortsInPodTemplates 28 30
DefaultIngressClass 18 19 19 true
DefaultPodTopologySpread 19 25 24 true
DelegateFSGroupToCSIDriver 22 27 26 true
DeploymentReplicaSetTerminatingReplicas 33 36
DetectCacheInconsistency 34 36
DevicePluginCDIDevices 28 33 31 true
DevicePlugins 16 27 26 true
DisableAcceleratorUsageMetrics 19 27 25 true
DisableAllocatorDualWrite 31 36 35 true
DisableCPUQuotaWithExclusiveCPUs 33 36
DisableCloudProviders 22 32 31 true
DisableKubeletCloudCredentialProviders 23 32 31 true
DisableNodeKubeProxyVersion 29 36 36 true
DownwardAPIHugePages 20 28 27 true
DryRun 16 27 26 true
DynamicAuditing 16 18
DynamicKubeletConfig 16 25
DynamicResourceAllocation 26 36 35 true
EfficientWatchResumption 20 32 24 true
ElasticIndexedJob 27 33 31 true
EnableAggregatedDiscoveryTimeout 16 16
EndpointSlice 16 24 21 true
EndpointSliceNodeName 20 24 21 true
EndpointSliceProxying 18 24 22 true
EndpointSliceTerminatingCondition 20 27 26 true
EnvFiles 34 36
EphemeralContainers 16 26 25 true
EvenPodsSpread 16 20 19 true
EventedPLEG 26 36
ExecProbeTimeout 20 36 35 true
ExpandCSIVolumes 16 26
ExpandInUsePersistentVolumes 16 26
ExpandPersistentVolumes 16 26
ExpandedDNSConfig 22 29 28 true
ExperimentalHostUserNamespaceDefaulting 16 29 28 false
ExtendWebSocketsToKubelet 36 36
ExternalPolicyForExternalIP 18 21 20 true
ExternalServiceAccountTokenSigner 32 36 36 true
GCERegionalPersistentDisk 16 16 16 true
GRPCContainerProbe 23 28 27 true
GangScheduling 35 36
GenericEphemeralVolume 19 24 23 true
GenericWorkload 35 36
GitRepoVolumeDriver 33 36 36 false
GracefulNodeShutdown 20 36
GracefulNodeShutdownBasedOnPodPriority 23 36
HPAConfigurableTolerance 33 36
HPAContainerMetrics 20 31 30 true
HPAScaleToZero 16 36
HonorPVReclaimPolicy 23 35 33 true
HostnameOverride 34 36
HugePageStorageMediumSize 18 23 22 true
HyperVContainer 16 20
IPTablesOwnershipCleanup 25 29 28 true
IPv6DualStack 16 26 23 true
IdentifyPodOS 23 26 25 true
ImageMaximumGCAge 29 36 35 true
ImageVolume 31 36 36 true
ImageVolumeWithDigest 36 36
ImmutableEphemeralVolumes 18 23 21 true
InOrderInformers 33 36 36 true
InOrderInformersBatchProcess 35 36
InPlacePodLevelResourcesVerticalScaling 35 36
InPlacePodVerticalScaling 27 36 35 true
InPlacePodVerticalScalingAllocatedStatus 32 35
InPlacePodVerticalScalingExclusiveCPUs 32 36
InPlacePodVerticalScalingExclusiveMemory 34 36
InPlacePodVerticalScalingInitContainers 36 36
InTreePluginAWSUnregister 21 30
InTreePluginAzureDiskUnregister 21 30
InTreePluginAzureFileUnregister 21 30
InTreePluginGCEUnregister 21 30
InTreePluginOpenStackUnregister 21 30
InTreePluginPortworxUnregister 23 35
InTreePluginRBDUnregister 23 30
InTreePluginvSphereUnregister 21 30
IndexedJob 21 25 24 true
InformerResourceVersion 30 36
IngressClassNamespacedParams 21 24 23 true
JobBackoffLimitPerIndex 28 36 33 true
JobManagedBy 30 36 35 true
JobMutableNodeSchedulingDirectives 23 28 27 true
JobPodFailurePolicy 25 32 31 true
JobPodReplacementPolicy 28 36 34 true
JobReadyPods 23 30 29 true
JobSuccessPolicy 30 36 33 true
JobTrackingWithFinalizers 22 28 26 true
KMSv1 28 36
KMSv2 25 31 29 true
KMSv2KDF 28 31 29 true
KubeProxyDrainingTerminatingNodes 28 32 31 true
KubeletCgroupDriverFromCRI 28 36 34 true
KubeletCrashLoopBackOffMax 32 36
KubeletCredentialProviders 20 27 26 true
KubeletEnsureSecretPulledImages 33 36
KubeletFineGrainedAuthz 32 36 36 true
KubeletInUserNamespace 22 36
KubeletPSI 33 36 36 true
KubeletPodResources 16 29 28 true
KubeletPodResourcesDynamicResources 27 36 36 true
KubeletPodResourcesGet 27 36 36 true
KubeletPodResourcesGetAllocatable 21 29 28 true
KubeletPodResourcesListUseActivePods 34 36
KubeletRegistrationGetOnExistsOnly 32 36
KubeletSeparateDiskGC 29 36
KubeletServiceAccountTokenForCredentialProviders 33 36
KubeletTracing 25 36 34 true
LegacyNodeRoleBehavior 16 21 21 false
LegacyServiceAccountTokenCleanUp 28 31 30 true
LegacyServiceAccountTokenNoAutoGeneration 24 28 27 true
LegacyServiceAccountTokenTracking 26 29 28 true
LegacySidecarContainers 33 33
ListFromCacheSnapshot 33 36
LoadBalancerIPMode 29 34 32 true
LocalStorageCapacityIsolation 16 26 25 true
LocalStorageCapacityIsolationFSQuotaMonitoring 16 36
LogarithmicScaleDown 21 36 31 true
LoggingAlphaOptions 25 36
LoggingBetaOptions 25 36
ManifestBasedAdmissionControlConfig 36 36
MatchLabelKeysInPodAffinity 29 36 33 true
MatchLabelKeysInPodTopologySpread 25 36
MatchLabelKeysInPodTopologySpreadSelectorMerge 34 36
MaxUnavailableStatefulSet 24 36
MemoryManager 21 35 32 true
MemoryQoS 22 36
MinDomainsInPodTopologySpread 24 31 30 true
MinimizeIPTablesRestore 26 29 28 true
MixedProtocolLBService 20 27 26 true
MountContainers 16 16
MultiCIDRRangeAllocator 25 28
MultiCIDRServiceAllocator 27 36 34 true
MutableCSINodeAllocatableCount 33 36 36 true
MutablePVNodeAffinity 35 36
MutablePodResourcesForSuspendedJobs 35 36
MutableSchedulingDirectivesForSuspendedJobs 35 36
MutatingAdmissionPolicy 30 36
NFTablesProxyMode 29 36 33 true
NamespaceDefaultLabelName 21 23 22 true
NativeHistograms 36 36
NetworkPolicyEndPort 21 26 25 true
NetworkPolicyStatus 24 27
NewVolumeManagerReconstruction 27 31 30 true
NodeDeclaredFeatures 35 36
NodeDisruptionExclusion 16 21 21 true
NodeInclusionPolicyInPodTopologySpread 25 36 33 true
NodeLease 16 22 17 true
NodeLogQuery 27 36 36 true
NodeOutOfServiceVolumeDetach 24 31 28 true
NodeSwap 22 36 34 true
NominatedNodeNameForExpectation 34 36
NonPreemptingPriority 16 25 24 true
OpenAPIEnums 23 36
OpenAPIV3 23 28 27 true
OpportunisticBatching 35 36
OrderedNamespaceDeletion 33 36 34 true
PDBUnhealthyPodEvictionPolicy 26 32 31 true
PLEGOnDemandRelist 36 36
PersistentLocalVolumes 16 16 16 true
PersistentVolumeClaimUnusedSinceTime 36 36
PersistentVolumeLastPhaseTransitionTime 28 32 31 true
PodAffinityNamespaceSelector 21 25 24 true
PodAndContainerStatsFromCRI 23 36
PodCertificateRequest 34 36
PodDeletionCost 21 36
PodDisruptionBudget 17 24 21 true
PodDisruptionConditions 25 33 31 true
PodHasNetworkCondition 25 27
PodHostIPs 28 31 30 true
PodIndexLabel 28 34 32 true
PodLevelResourceManagers 36 36
PodLevelResources 32 36
PodLifecycleSleepAction 29 36 34 true
PodLifecycleSleepActionAllowZero 32 36 34 true
PodLogsQuerySplitStreams 32 36
PodObservedGenerationTracking 33 36 35 true
PodOverhead 16 25 24 true
PodPriority 16 17 16 true
PodReadyToStartContainersCondition 28 36
PodSchedulingReadiness 26 36 30 true
PodSecurity 22 27 25 true
PodShareProcessNamespace 16 18 17 true
PodTopologyLabelsAdmission 33 36
PodsAPI 36 36
PortForwardWebsockets 30 36
PreferNominatedNode 21 25 24 true
PreferSameTrafficDistribution 33 36 35 true
PreventStaticPodAPIReferences 34 36
ProbeHostPodSecurityStandards 34 34 34 true
ProbeTerminationGracePeriod 21 28 28 true
ProcMountType 16 36 36 true
ProxyTerminatingEndpoints 22 29 28 true
QOSReserved 16 36
ReadWriteOncePod 22 30 29 true
RecoverVolumeExpansionFailure 23 36 34 true
RecursiveReadOnlyMounts 30 36 33 true
ReduceDefaultCrashLoopBackOffDecay 33 36
RelaxedDNSSearchValidation 32 36 34 true
RelaxedEnvironmentVariableValidation 30 36 34 true
RelaxedServiceNameValidation 34 36
ReloadKubeletClientCAFile 36 36
ReloadKubeletServerCertificateFile 31 36
RemainingItemCount 16 32 29 true
RemoteRequestHeaderUID 32 36
RemoveSelfLink 16 29 24 true
RequestManagement 16 16
ResilientWatchCacheInitialization 31 36 34 true
ResourceHealthStatus 31 36
ResourceHealthStatusMessage 36 36
ResourceLimitsPriorityFunction 16 18
ResourceQuotaScopeSelectors 16 17 17 true
RestartAllContainersOnContainerExits 35 36
RetroactiveDefaultStorageClass 25 28 28 true
RetryGenerateName 30 36
RootCAConfigMap 20 21 21 true
RotateKubeletClientCertificate 16 20 19 true
RotateKubeletServerCertificate 16 36
RunAsGroup 16 21 21 true
RuntimeClass 16 23 20 true
RuntimeClassInImageCriApi 29 36
SCTPSupport 16 21 20 true
SELinuxChangePolicy 32 36 36 true
SELinuxMount 30 36
SELinuxMountReadWriteOncePod 25 36 36 true
ScheduleDaemonSetPods 16 17 17 true
SchedulerAsyncAPICalls 34 36
SchedulerAsyncPreemption 32 36
SchedulerPopFromBackoffQ 33 36
SchedulerQueueingHints 28 36 34 true
SeccompDefault 22 28 27 true
SecurityContextDeny 27 29
SelectorIndex 18 24 20 true
SeparateCacheWatchRPC 30 36
SeparateTaintEvictionController 29 36 34 true
ServerSideApply 16 31 26 true
ServerSideFieldValidation 23 31 27 true
ServiceAccountIssuerDiscovery 18 22 21 true
ServiceAccountNodeAudienceRestriction 32 36
ServiceAccountTokenJTI 29 36 32 true
ServiceAccountTokenNodeBinding 29 36 33 true
ServiceAccountTokenNodeBindingValidation 29 36 32 true
ServiceAccountTokenPodNodeInfo 29 36 32 true
ServiceAppProtocol 18 21 20 true
ServiceCIDRStatusFieldWiping 36 36
ServiceIPStaticSubrange 24 27 26 true
ServiceInternalTrafficPolicy 21 27 26 true
ServiceLBNodePortControl 20 25 24 true
ServiceLoadBalancerClass 21 25 24 true
ServiceLoadBalancerFinalizer 16 19 17 true
ServiceNodeExclusion 16 21 21 true
ServiceNodePortStaticSubrange 27 30 29 true
ServiceTopology 17 21
ServiceTrafficDistribution 30 35 33 true
SetHostnameAsFQDN 19 23 22 true
ShardedListAndWatch 36 36
SidecarContainers 28 36
SizeBasedListCostEstimate 34 36
SizeMemoryBackedVolumes 20 34
SkipReadOnlyValidationGCE 28 30
StableLoadBalancerNodeSet 27 31 30 true
StaleControllerConsistencyDaemonSet 36 36
StaleControllerConsistencyJob 36 36
StaleControllerConsistencyReplicaSet 36 36
StaleControllerConsistencyStatefulSet 36 36
StartupProbe 16 22 20 true
StatefulSetAutoDeletePVC 23 34 32 true
StatefulSetMinReadySeconds 22 26 25 true
StatefulSetStartOrdinal 26 33 31 true
StorageCapacityScoring 33 36
StorageNamespaceIndex 30 36
StorageObjectInUseProtection 16 24 23 true
StorageVersionAPI 20 36
StorageVersionHash 16 36
StorageVersionMigrator 30 36
StreamingCollectionEncodingToJSON 33 36 34 true
StreamingCollectionEncodingToProtobuf 33 36 34 true
StreamingProxyRedirects 16 23
StrictCostEnforcementForVAP 31 34 32 true
StrictCostEnforcementForWebhooks 31 34 32 true
StrictIPCIDRValidation 33 36
StructuredAuthenticationConfiguration 29 36 34 true
StructuredAuthenticationConfigurationEgressSelector 34 36
StructuredAuthenticationConfigurationJWKSMetrics 35 36
StructuredAuthorizationConfiguration 29 35 32 true
SupplementalGroupsPolicy 31 36 35 true
SupportIPVSProxyMode 16 19
SupportNodePidsLimit 16 22 20 true
SupportPodPidsLimit 16 22 20 true
SuspendJob 21 25 24 true
Sysctls 16 22 21 true
SystemdWatchdog 32 36 35 true
TTLAfterFinished 16 24 23 true
TaintBasedEvictions 16 19 18 true
TaintNodesByCondition 16 17 17 true
TaintTolerationComparisonOperators 35 36
TokenRequest 16 20 20 true
TokenRequestProjection 16 20 20 true
TokenRequestServiceAccountUIDValidation 34 36
TopologyAwareHints 21 35 33 true
TopologyAwareWorkloadScheduling 36 36
TopologyManager 16 28 27 true
TopologyManagerPolicyAlphaOptions 26 36
TopologyManagerPolicyBetaOptions 26 36
TopologyManagerPolicyOptions 26 36 36 true
TranslateStreamCloseWebsocketRequests 29 36
UnauthenticatedHTTP2DOSMitigation 29 36
UnknownVersionInteroperabilityProxy 28 36
UnlockWhileProcessingFIFO 36 36
UserNamespacesHostNetworkSupport 35 36
UserNamespacesPodSecurityStandards 29 34
UserNamespacesStatelessPodsSupport 25 27
UserNamespacesSupport 28 36 36 true
ValidateProxyRedirects 16 23
ValidatingAdmissionPolicy 26 31 30 true
VolumeAttributesClass 29 36 36 true
VolumeCapacityPriority 21 32
VolumeLimitScaling 35 36
VolumePVCDataSource 16 20 18 true
VolumeSnapshotDataSource 16 21 20 true
VolumeSubpath 16 24 23 true
VolumeSubpathEnvExpansion 16 18 17 true
WarningHeaders 19 23 22 true
WatchBookmark 16 32 17 true
WatchCacheInitializationPostStartHook 31 36
WatchFromStorageWithoutResourceVersion 30 35 33 false
WatchList 27 36
WatchListClient 30 36
WinDSR 16 36 34 true
WinOverlay 16 36 34 true
WindowsCPUAndMemoryAffinity 32 36
WindowsEndpointSliceProxying 19 24 22 true
WindowsGMSA 16 20 18 true
WindowsGracefulNodeShutdown 32 36
WindowsHostNetwork 26 36
WindowsHostProcessContainers 22 27 26 true
WindowsRunAsUserName 16 20 18 true
WorkloadAwarePreemption 36 36
WorkloadWithJob 36 36
ZeroLimitedNominalConcurrencyShares 29 31 30 true
csiMigrationRBD 23 23
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
    return {name: _gate(rest) for name, *rest in map(str.split, _TABLE.strip().splitlines())}


def _gate(columns: list[str]) -> Gate:
    first, last, *lock = columns
    if not lock:
        return Gate(int(first), int(last))
    return Gate(int(first), int(last), int(lock[0]), lock[1] == "true")

"""Every Win32 function that is bound by ctypes, with the reason why pywin32 is not asked for it.

A test fails where a function is bound that has none, where pywin32 exports one of the first table, and where
something is in a table that is not bound.
"""

_IN_A_JOB = "a list of attributes, by which a process is in its job from its first instruction"
_HNS = "container networks, by the Host Compute Network API and the one before"

_BY_REASON = {
    "relative to an open folder, so that no link that is put in between leads a file of SYSTEM elsewhere": (
        "NtCreateFile NtQueryDirectoryFile NtQueryInformationFile NtSetInformationFile RtlNtStatusToDosError"
    ),
    _IN_A_JOB: "DeleteProcThreadAttributeList InitializeProcThreadAttributeList UpdateProcThreadAttribute",
    _HNS: (
        "HNSCall HcnCloseEndpoint HcnCloseLoadBalancer HcnCloseNetwork HcnCreateEndpoint HcnCreateNetwork"
        " HcnDeleteEndpoint HcnDeleteLoadBalancer HcnDeleteNetwork HcnEnumerateEndpoints"
        " HcnEnumerateLoadBalancers HcnEnumerateNetworks HcnOpenEndpoint HcnOpenLoadBalancer HcnOpenNetwork"
        " HcnQueryEndpointProperties HcnQueryLoadBalancerProperties HcnQueryNetworkProperties"
    ),
    f"texts of {_HNS}": "CoTaskMemFree",
    "features of Windows": (
        "DismCloseSession DismDelete DismDisableFeature DismEnableFeature DismGetFeatureInfo DismInitialize"
        " DismOpenSession DismShutdown"
    ),
    "routes and what interfaces do with packets, by IP Helper": (
        "CancelMibChangeNotify2 CreateIpForwardEntry2 DeleteIpForwardEntry2 FreeMibTable GetBestInterface"
        " GetIpForwardTable2 GetIpInterfaceEntry NotifyIpInterfaceChange NotifyRouteChange2"
        " SetIpInterfaceEntry"
    ),
    "adapters by the number that routes have; psutil tells no prefix of IPv6 either": "GetAdaptersAddresses",
    "whose signature Windows vouches for, of an open file": (
        "CertGetNameStringW WTHelperGetProvSignerFromChain WTHelperProvDataFromStateData WinVerifyTrust"
    ),
    "WinHTTP's default proxy": "GlobalFree WinHttpSetDefaultProxyConfiguration",
    "the changes of a folder, whichever thread asked for them": "CancelIoEx",
    "Windows' own folder": "GetSystemWindowsDirectoryW",
    "a reboot with a reason; win32api's InitiateSystemShutdown gives none": "InitiateShutdownW",
    "the machine's processor, for an emulated program too": "IsWow64Process2",
    "when Windows was started, whatever its clock was set to since": "NtQuerySystemInformation",
    "the machine's DNS name": "SetComputerNameExW",
}
MISSING_IN_PYWIN32 = {name: reason for reason, names in _BY_REASON.items() for name in names.split()}

KEPT = {
    "CertGetCertificateContextProperty": "of what WinVerifyTrust found, which is no object of win32crypt's",
    "CreateProcessW": f"with {_IN_A_JOB}, which win32process does not pass on",
    "ReadFile": "again and again into the same memory, to be hashed; win32file does not say how much it read",
    "SendMessageTimeoutW": "win32gui takes 8 MB of memory and, under Wine, half a second to load",
    "SetEvent": "its address is what IP Helper calls back in a thread that runs no Python",
    "WinHttpGetDefaultProxyConfiguration": "beside the one that sets what it gets, in the same form",
}
"""Of functions that pywin32 has: why it is not asked."""

REASONS = MISSING_IN_PYWIN32 | KEPT

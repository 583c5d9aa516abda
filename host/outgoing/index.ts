export { type AddressPolicy, literalAddress, type Lookup } from './addresses.ts';
export { connect, connectChecked } from './connect.ts';
export { downloadError, reasonOf, withoutCredentials } from './errors.ts';
export { follow, type Hop, send, withinTime } from './exchange.ts';
export { type GuardProxy, type GuardProxyOptions, openGuardProxy } from './guard-proxy.ts';
export { type Guards, parseUrl } from './guards.ts';
export { directNetwork, type Network, networkOf, type NetworkSettings } from './network.ts';
export { isForeignAddress } from './own-addresses.ts';
export { type GuardedRequest, type GuardedResponse, requestGuarded, type RequestOptions } from './request.ts';

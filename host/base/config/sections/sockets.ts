import * as z from 'zod';
import { whole } from '../../core/fields.ts';
import { MIB, positiveBytes, seconds } from './fields.ts';
import { settings } from '../registry.ts';

export const SocketsConfig = z.strictObject({
  max_sockets: whole(
    { min: 1, max: 1_000_000, default: 1000 },
    'Most open WebSockets; further ones are refused (status 503).',
  ).register(settings, { env: 'AANA_MAX_SOCKETS' }),
  max_sockets_per_caller: whole(
    { min: 1, max: 1_000_000, default: 32 },
    'Most open WebSockets of each caller; further ones are refused (status 429). A caller is a user or, without ' +
      'keys, an address.',
  ).register(settings, { env: 'AANA_MAX_SOCKETS_PER_CALLER' }),
  max_message_bytes: positiveBytes(MIB, 'Largest message of a client, in bytes (close code 1009).'),
  max_buffered_bytes: positiveBytes(
    MIB,
    'Bytes that may wait in each direction of a WebSocket, in addition to one message. Beyond it the host reads ' +
      'nothing more from the client, or computes nothing more for it.',
  ),
  ping_interval_s: seconds(
    20,
    'Time between two pings, in seconds. A client that has not answered one before the next is considered lost.',
  ),
  idle_timeout_s: seconds(
    120,
    'Time without a message after which a WebSocket is closed, in seconds (close code 1008). Answers to pings ' +
      'do not count.',
  ),
  max_duration_s: seconds(10_800, 'Time after which a WebSocket is closed, in seconds (close code 1008).'),
});

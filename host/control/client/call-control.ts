import { type Choice, chooseServer } from '../addresses.ts';
import { ControlConnection } from './control-connection.ts';
import type { CallOperation, ControlArgs, ControlValue } from '../protocol.ts';

/** Calls an operation of this user's running application. Throws like {@link chooseServer}. */
export async function callControl<O extends CallOperation>(
  dir: string,
  operation: O,
  args: ControlArgs<O>,
  choice: Choice = {},
): Promise<ControlValue<O>> {
  const connection = await ControlConnection.open(await chooseServer(dir, choice));
  try {
    return await connection.call(operation, args);
  } finally {
    await connection.close();
  }
}

import { Socket } from 'node:net';

/**
 * A socket that collects writes, once it is corked, until the end of this turn of the event loop. `pg` corks it for
 * each statement, and each statement would be a system call.
 */
export function batchingSocket(): Socket {
  const socket = new Socket();
  const cork = socket.cork.bind(socket);
  let isHeld = false;
  const release = (): void => {
    isHeld = false;
    socket.uncork();
  };
  socket.cork = () => {
    if (!isHeld) {
      isHeld = true;
      cork();
      process.nextTick(release);
    }
    cork();
  };
  return socket;
}

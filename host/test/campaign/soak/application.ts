// The application of the soak, which `aana-host serve` starts beside the plugins and the models of the configuration.
import { AanaApp } from 'aana-host'; // the bundle, which the command has loaded already
import { EchoDeployment } from '../tasks/echo-deployment.ts';

export const app: AanaApp = new AanaApp();

app.registerDeployment('echo', EchoDeployment.options({ max_ongoing_requests: 8 }));

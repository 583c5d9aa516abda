// The application of the soak, which `aana-host serve` starts beside the plugins and the models of the configuration.
import { AanaApp } from '../../../application/app.ts';
import { EchoDeployment } from '../tasks/echo-deployment.ts';

export const app: AanaApp = new AanaApp();

app.registerDeployment('echo', EchoDeployment.options({ max_ongoing_requests: 8 }));

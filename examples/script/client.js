// Calls the deployments of the running application by name, from another process.
//   node client.js talk.mp4
import { connect } from 'aana-host';

const [file] = process.argv.slice(2);
if (!file) {
  console.error('usage: node client.js VIDEO-OR-AUDIO');
  process.exit(2);
}

const { handle, openAudio } = await connect();
const asr = await handle('asr_deployment');
const llm = await handle('llm_deployment');

// The application decodes the file and removes the decoded audio when this process ends.
const audio = await openAudio({ path: file });
const { transcription } = await asr.transcribe({ audio });
console.log(transcription.text.trim());

const question = {
  dialog: { messages: [{ role: 'user', content: `Which country is meant? ${transcription.text}` }] },
  sampling_params: { temperature: 0, max_tokens: 32 },
};
const { message } = await llm.chat(question);
console.log(message.content);

for await (const { text } of llm.chat_stream(question)) process.stdout.write(text);
console.log();

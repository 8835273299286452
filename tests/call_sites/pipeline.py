# forward: L['sample'] 2, L['sample'] 3, L['encoder_hidden_states'] 1
import torch

class UNet(torch.nn.Module):
    def forward(self, sample, timestep, encoder_hidden_states, return_dict=True):
        return (sample,)

class Pipeline:
    def __init__(self):
        self.unet = torch.compile(UNet())

    def __call__(self, latents, prompt_embeds):
        for i, t in enumerate([3, 2]):
            # predict the noise residual
            noise_pred = self.unet(  # call
                latents[:1],
                t,
                encoder_hidden_states=prompt_embeds,
                return_dict=False,
            )[0]
        return noise_pred

Pipeline()(torch.randn(1, 4, 8, 8), torch.randn(1, 7, 3))
